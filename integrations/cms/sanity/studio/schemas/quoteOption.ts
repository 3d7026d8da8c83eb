import {defineField, defineType} from '@sanity/types'
import {localizedString} from './fields.ts'

/** A choice of the quote calculator. Leads and PDFs refer to it by its slug. */
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
    localizedString('label', 'Label'),
    defineField({
      name: 'slug',
      title: 'Slug',
      type: 'slug',
      description: 'Unique across all groups. Leads keep it: do not change it later.',
      options: {source: 'label.en', maxLength: 64},
      validation: (rule) => [
        rule.required(),
        rule.custom((slug) =>
          !slug?.current || /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/.test(slug.current)
            ? true
            : 'Only a-z, 0-9 and single hyphens or underscores between them',
        ),
      ],
    }),
    defineField({
      name: 'price',
      title: 'Price in euros',
      type: 'number',
      description: 'What it adds to the estimate',
      validation: (rule) => rule.required().min(0).precision(2),
    }),
  ],
  orderings: [
    {name: 'group', title: 'Group', by: [{field: 'group', direction: 'asc'}, {field: 'order', direction: 'asc'}]},
  ],
  preview: {
    select: {title: 'label.en', group: 'group', price: 'price'},
    prepare: ({title, group, price}) => ({title, subtitle: `${group}, ${price ?? '?'} €`}),
  },
})
