import {defineField, defineType} from 'sanity'
import {language, slug, unique} from './fields'

/** A consent text shown to visitors: one document for each purpose and language. */
export const consentText = defineType({
  name: 'consentText',
  title: 'Consent',
  type: 'document',
  fields: [
    language,
    defineField({
      name: 'purpose',
      title: 'Purpose',
      type: 'string',
      description: 'For example, marketing. Leads store it: do not change it later.',
      validation: (rule) => [
        rule.required().max(64).regex(slug, {name: 'slug'}),
        rule.custom(unique(['purpose', 'language'], 'There is a consent with this purpose in this language already')),
      ],
    }),
    defineField({name: 'text', title: 'Wording', type: 'text', validation: (rule) => rule.required().max(1000)}),
  ],
  preview: {select: {title: 'purpose', subtitle: 'language'}},
})
