import {defineField, defineType} from 'sanity'
import {OptionPreview} from '../optionPreview'
import {localizedString, slug} from './fields'

/** An option of the quote calculator. Leads and PDFs refer to it by its slug. */
export const quoteOption = defineType({
  name: 'quoteOption',
  title: 'Quote option',
  type: 'document',
  fields: [
    defineField({
      name: 'group',
      title: 'Group',
      type: 'string',
      options: {
        layout: 'radio',
        list: [
          {value: 'projectType', title: 'Project type'},
          {value: 'feature', title: 'Feature'},
          {value: 'complexity', title: 'Complexity'},
          {value: 'timeline', title: 'Timeline'},
        ],
      },
      validation: (rule) => rule.required(),
    }),
    defineField({name: 'order', title: 'Position in the group', type: 'number', validation: (rule) => rule.integer().min(1)}),
    localizedString('label', 'Label', {required: true}),
    defineField({
      name: 'slug',
      title: 'Slug',
      type: 'slug',
      description: 'Unique across all groups. Leads store it: do not change it later.',
      options: {source: 'label.en', maxLength: 64},
      validation: (rule) => [
        rule.required(),
        rule.custom((value) =>
          !value?.current || slug.test(value.current)
            ? true
            : 'Only a-z, 0-9 and single hyphens or underscores between them',
        ),
      ],
    }),
    defineField({
      name: 'price',
      title: 'Price',
      type: 'number',
      description: 'Amount added to the estimate, in the currency of the quote rules',
      validation: (rule) => [
        rule.min(0).max(1e9).precision(4),
        rule.custom((price, {document}) =>
          price == null && document?.percent == null ? 'Enter a price, a percentage or both' : true,
        ),
      ],
    }),
    defineField({
      name: 'percent',
      title: 'Percent',
      type: 'number',
      description: 'Percentage added to the sum of the prices: 20 for a rush, or -10 for a discount',
      validation: (rule) => rule.min(-100).max(1000).precision(4),
    }),
  ],
  orderings: [
    {name: 'group', title: 'Group', by: [{field: 'group', direction: 'asc'}, {field: 'order', direction: 'asc'}]},
  ],
  preview: {select: {title: 'label.en', group: 'group', order: 'order', price: 'price', percent: 'percent'}},
  components: {preview: OptionPreview},
})
