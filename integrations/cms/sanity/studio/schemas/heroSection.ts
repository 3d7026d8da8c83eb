import {defineArrayMember, defineField, defineType} from 'sanity'
import {language, strings, unique} from './fields'

/** The hero section of the home page: one document for each language. */
export const heroSection = defineType({
  name: 'heroSection',
  title: 'Hero section',
  type: 'document',
  fields: [
    defineField({
      ...language,
      validation: (rule) => [
        rule.required(),
        rule.custom(unique(['language'], 'There is a hero section in this language already')),
      ],
    }),
    defineField({name: 'title', title: 'Title', type: 'string', validation: (rule) => rule.required().max(80)}),
    defineField({name: 'subtitle', title: 'Subtitle', type: 'text', rows: 3}),
    ...[
      {name: 'primaryAction', title: 'First button'},
      {name: 'secondaryAction', title: 'Second button'},
    ].map((button) => defineField({...button, type: 'object', fields: strings({label: 'Label', href: 'Link'})})),
    defineField({name: 'highlights', title: 'Highlights', type: 'array', of: [defineArrayMember({type: 'string'})]}),
  ],
  preview: {select: {title: 'title', subtitle: 'language'}},
})
