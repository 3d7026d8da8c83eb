import {defineArrayMember, defineField, defineType} from 'sanity'
import {plain, strings} from './fields'

const attribution = {
  source: 'Source',
  medium: 'Medium',
  campaign: 'Campaign',
  term: 'Search term',
  content: 'Variant',
  referrer: 'Linked from',
  landingPage: 'First page',
}

/** A submitted quote, stored by siteapi. It is read-only; `siteapi leads erase` removes it. */
export const quoteSubmission = defineType({
  name: 'quoteSubmission',
  title: 'Quote submission',
  type: 'document',
  readOnly: true,
  fields: [
    ...strings({submissionId: 'Reference'}),
    defineField({name: 'sessionId', title: 'Session', type: 'string', hidden: true}),
    defineField({
      name: 'contact',
      title: 'Contact',
      type: 'object',
      fields: strings({firstName: 'First name', lastName: 'Last name', email: 'E-mail', phone: 'Telephone', company: 'Company'}),
    }),
    defineField({
      name: 'selections',
      title: 'Selections',
      type: 'object',
      fields: [
        ...strings({projectType: 'Project type', complexity: 'Complexity', timeline: 'Timeline'}),
        defineField({name: 'features', title: 'Features', type: 'array', of: [defineArrayMember({type: 'string'})]}),
        defineField({
          name: 'quantities',
          title: 'Quantities',
          type: 'array',
          of: [
            defineArrayMember({
              type: 'object',
              fields: [...strings({slug: 'Choice'}), ...plain('number', {count: 'Quantity'}), ...strings({unit: 'Unit'})],
            }),
          ],
        }),
      ],
    }),
    defineField({
      name: 'estimate',
      title: 'Estimate',
      type: 'object',
      fields: [
        ...plain('number', {min: 'From', max: 'To'}),
        ...strings({currency: 'Currency'}),
      ],
    }),
    ...strings({priceStatus: 'Price status'}),
    defineField({name: 'message', title: 'Message', type: 'text', rows: 6}),
    defineField({name: 'attribution', title: 'Attribution', type: 'object', fields: strings(attribution)}),
    defineField({name: 'firstAttribution', title: 'First attribution', type: 'object', fields: strings(attribution)}),
    defineField({
      name: 'consents',
      title: 'Consents',
      type: 'array',
      of: [
        defineArrayMember({
          type: 'object',
          fields: [
            ...strings({purpose: 'Purpose'}),
            ...plain('boolean', {given: 'Given'}),
            defineField({name: 'text', title: 'Wording', type: 'text'}),
            defineField({name: 'siteWording', title: "The site's wording", type: 'boolean'}),
            ...plain('datetime', {withdrawnAt: 'Withdrawn'}),
          ],
        }),
      ],
    }),
    ...strings({locale: 'Visitor language'}),
    ...plain('datetime', {submittedAt: 'Submitted at'}),
    ...strings({pdfPath: 'PDF path', pagePath: 'Page path'}),
  ],
  orderings: [{name: 'newest', title: 'Newest first', by: [{field: 'submittedAt', direction: 'desc'}]}],
  preview: {
    select: {
      firstName: 'contact.firstName',
      lastName: 'contact.lastName',
      company: 'contact.company',
      projectType: 'selections.projectType',
      submittedAt: 'submittedAt',
    },
    prepare: ({firstName, lastName, company, projectType, submittedAt}) => ({
      title: [firstName, lastName].filter(Boolean).join(' ') + (company ? ` (${company})` : ''),
      subtitle: [projectType, submittedAt?.slice(0, 10)].filter(Boolean).join(', '),
    }),
  },
})
