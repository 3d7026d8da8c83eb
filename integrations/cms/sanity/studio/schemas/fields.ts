import {defineField} from 'sanity'
import {locales} from '../locales'

/** A text in each language. The first is required because the others fall back to it. */
export function localizedString(name: string, title: string) {
  return defineField({
    name,
    title,
    type: 'object',
    options: {columns: locales.length},
    fields: locales.map((locale, index) =>
      defineField({
        name: locale.id,
        title: locale.title,
        type: 'string',
        validation: (rule) => (index === 0 ? rule.required() : rule),
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

/** Returns the plain text fields of an object. */
export function strings(names: Record<string, string>) {
  return Object.entries(names).map(([name, title]) => defineField({name, title, type: 'string'}))
}
