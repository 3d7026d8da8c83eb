import type {DocumentActionComponent, Template} from 'sanity'
import type {StructureResolver} from 'sanity/structure'

/** Types of which there is one document, with the id that siteapi asks for: the name of the type. */
const singletons = ['siteSettings', 'quoteRules']

/** Types whose documents are not made in Studio: siteapi stores the submissions. */
const notCreated = [...singletons, 'quoteSubmission']

/** Opens each single document by itself, and lists those of the other types. */
export const structure: StructureResolver = (S) =>
  S.list()
    .title('Content')
    .items([
      ...singletons.map((name) =>
        S.documentTypeListItem(name).child(S.document().schemaType(name).documentId(name)),
      ),
      S.divider(),
      ...S.documentTypeListItems().filter((item) => !singletons.includes(item.getId() ?? '')),
    ])

/** Offers new documents of the types only that are made in Studio. */
export const templates = (all: Template[]) => all.filter((template) => !notCreated.includes(template.schemaType))

/** Keeps single documents from being copied or deleted, and submissions from being changed. */
export function actions(all: DocumentActionComponent[], {schemaType}: {schemaType: string}) {
  if (schemaType === 'quoteSubmission') return []
  if (!singletons.includes(schemaType)) return all
  return all.filter(({action}) => action && ['publish', 'discardChanges', 'restore'].includes(action))
}
