import type {DocumentActionComponent, Template} from 'sanity'
import type {StructureResolver} from 'sanity/structure'

/** Types with a single document, whose id is the name of the type. siteapi reads it by this id. */
const singletons = ['siteSettings', 'quoteRules', 'quoteTexts']

/** Types whose documents cannot be created in Studio: siteapi stores the submissions. */
const notCreated = [...singletons, 'quoteSubmission']

/** Opens the document of each single-document type, and lists the documents of the other types. */
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

/** Offers only the types whose documents can be created in Studio. */
export const templates = (all: Template[]) => all.filter((template) => !notCreated.includes(template.schemaType))

/** The actions of a single document, also of its version in a release. */
const singletonActions = ['publish', 'schedule', 'discardChanges', 'discardVersion', 'restore']

/** Prevents copying, unpublishing and deleting single documents, and changing submissions. */
export function actions(all: DocumentActionComponent[], {schemaType}: {schemaType: string}) {
  if (schemaType === 'quoteSubmission') return []
  if (!singletons.includes(schemaType)) return all
  return all.filter(({action}) => action && singletonActions.includes(action))
}
