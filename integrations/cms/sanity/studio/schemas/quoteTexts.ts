import {defineField, defineType} from 'sanity'
import {locales} from '../locales'

const placeholders = /\{(firstName|reference|company|validUntil)\}/g

/** Checks the placeholders of a text. siteapi refuses all texts if one has an unknown placeholder. */
function known(text: string | undefined, {document}: {document?: Record<string, unknown>}) {
  if (/[{}]/.test((text ?? '').replace(placeholders, '')))
    return 'Only {firstName}, {reference}, {company} and {validUntil} are placeholders'
  return !text?.includes('{validUntil}') || document?.validityDays ? true : '{validUntil} needs a number of valid days below'
}

/** A plain text in each language. An empty one is replaced by the standard text in that language. */
const text = (name: string, title: string, description: string, type = 'text') =>
  defineField({
    name,
    title,
    description,
    type: 'object',
    fields: locales.map((locale) =>
      defineField({
        name: locale.id,
        title: locale.title,
        type,
        validation: (rule: any) => [rule.max(2000), rule.custom(known), ...(type === 'string' ? [rule.max(100).warning()] : [])],
      }),
    ),
  })

/** The firm's own texts about quotes: one document with the _id "quoteTexts". */
export const quoteTexts = defineType({
  name: 'quoteTexts',
  title: 'Quote texts',
  type: 'document',
  description: 'Each line is a paragraph of plain text. Placeholders: {firstName}, {reference}, {company}, {validUntil}.',
  fields: [
    text('mailSubject', 'Subject of the mail', 'Of the mail that confirms a quote request', 'string'),
    text('mailIntro', 'Beginning of the mail', 'After the greeting, instead of the standard thanks'),
    text('mailClosing', 'End of the mail', 'Instead of the standard invitation to reply'),
    text('quoteIntro', 'Beginning of the quote', 'Above the price, in the PDF and on the page'),
    text('terms', 'Terms', 'At the end of mail, PDF and page, instead of the standard note that the estimate is not binding'),
    text('thanks', 'Thanks', 'On the page after a quote request was sent'),
    defineField({
      name: 'validityDays',
      title: 'Valid for days',
      type: 'number',
      description: 'How long a quote is valid if the quote rules say nothing',
      validation: (rule) => rule.integer().min(1).max(3650),
    }),
  ],
  preview: {prepare: () => ({title: 'Quote texts'})},
})
