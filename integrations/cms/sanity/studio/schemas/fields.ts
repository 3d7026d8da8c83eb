import {defineField, type ValidationContext} from 'sanity'
import {locales} from '../locales'

/** A text in each language. The first is required because the others fall back to it. */
export function localizedString(name: string, title: string, options: {required?: boolean; description?: string; max?: number} = {}) {
  return defineField({
    name,
    title,
    description: options.description,
    type: 'object',
    validation: (rule) => (options.required ? rule.required() : rule),
    options: {columns: locales.length},
    fields: locales.map((locale, index) =>
      defineField({
        name: locale.id,
        title: locale.title,
        type: 'string',
        validation: (rule) => (index === 0 && options.required ? rule.required().max(options.max ?? 1000) : rule.max(options.max ?? 1000)),
      }),
    ),
  })
}

/** The language of a document that is translated as a whole. */
export const language = defineField({
  name: 'language',
  title: 'Language',
  type: 'string',
  options: {list: locales.map((locale) => ({value: locale.id, title: locale.title}))},
  validation: (rule) => rule.required(),
})

/**
 * Checks that no other document of the type has the same values in these fields. The draft, the published document and the
 * versions of a document in releases count as one.
 */
export function unique(fields: string[], message: string) {
  return async (_: unknown, {document, getClient}: ValidationContext) => {
    const values = fields.map((field) => document?.[field])
    if (!document || values.some((value) => value == null)) return true

    const same = fields.map((field, index) => `${field} == $values[${index}]`).join(' && ')
    const others = await getClient({apiVersion: '2025-02-19'}).fetch<number>(
      `count(*[_type == $type && !sanity::versionOf($id) && ${same}])`,
      {type: document._type, id: document._id.replace(/^drafts\.|^versions\.[^.]+\./, ''), values},
      {perspective: 'raw'},
    )
    return others === 0 || message
  }
}

/** Returns fields of one type, given their titles by name. */
export const plain = (type: 'string' | 'number' | 'boolean' | 'datetime', names: Record<string, string>) =>
  Object.entries(names).map(([name, title]) => defineField({name, title, type}))

/** Returns plain text fields. */
export const strings = (names: Record<string, string>) => plain('string', names)

/** A slug, as siteapi accepts it. */
export const slug = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/
