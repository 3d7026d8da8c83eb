import {defineArrayMember, defineField, defineType} from 'sanity'
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
          price == null && document?.percent == null && document?.unitPrice == null && document?.tiers == null
            ? 'Enter a price, a percentage or a price per unit'
            : true,
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
    localizedString('unit', 'Unit', {
      max: 40,
      description: 'If the price depends on a quantity: what follows the number, such as m², pages or words',
    }),
    defineField({
      name: 'unitPrice',
      title: 'Price per unit',
      type: 'number',
      description: 'At most four decimals. Leave it empty if there are tiers.',
      validation: (rule) => [
        rule.min(0).max(1e6).precision(4),
        rule.custom((unitPrice, {document}) => {
          const priced = unitPrice != null || document?.tiers != null
          if (unitPrice != null && document?.tiers != null) return 'Enter a price per unit or tiers, not both'
          if (priced && document?.unit == null) return 'Enter the unit'
          return priced || document?.unit == null ? true : 'Enter a price per unit, or tiers'
        }),
      ],
    }),
    defineField({
      name: 'tiers',
      title: 'Tiers',
      type: 'array',
      description: 'Prices per unit by quantity, rising. The last tier has no upper end.',
      of: [
        defineArrayMember({
          type: 'object',
          fields: [
            defineField({
              name: 'upTo',
              title: 'Up to',
              type: 'number',
              description: 'Largest quantity of the tier',
              validation: (rule) => rule.min(0.01).max(1e6).precision(2),
            }),
            defineField({
              name: 'unitPrice',
              title: 'Price per unit',
              type: 'number',
              validation: (rule) => rule.required().min(0).max(1e6).precision(4),
            }),
          ],
          preview: {select: {title: 'unitPrice', subtitle: 'upTo'}},
        }),
      ],
      validation: (rule) => [
        rule.max(20),
        rule.custom((tiers) => {
          const ends = ((tiers ?? []) as {upTo?: number}[]).map(({upTo}) => upTo)
          const rising = ends.slice(0, -1).every((end, index) => end != null && end > (ends[index - 1] ?? 0))
          if (!rising) return 'Each tier but the last needs an upper end above that of the tier before'
          return ends.at(-1) == null ? true : 'The last tier must not have an upper end'
        }),
      ],
    }),
    defineField({
      name: 'graduated',
      title: 'Graduated',
      type: 'boolean',
      description: 'On: each unit has the price of its own tier. Off: all units have the price of the tier with the quantity.',
    }),
    ...quantities({
      minQuantity: ['Smallest quantity', 'One step by default'],
      maxQuantity: ['Largest quantity', '1,000,000 by default'],
      step: ['Step', 'Quantities are the smallest one plus a multiple of it; 1 by default'],
      quantity: ['Suggested quantity', 'What a form shows first; the smallest one by default'],
    }),
  ],
  orderings: [
    {name: 'group', title: 'Group', by: [{field: 'group', direction: 'asc'}, {field: 'order', direction: 'asc'}]},
  ],
  preview: {select: {title: 'label.en', group: 'group', order: 'order', price: 'price', percent: 'percent'}},
  components: {preview: OptionPreview},
})

/** Returns fields for quantities, given their titles and descriptions by name. */
function quantities(names: Record<string, [string, string]>) {
  return Object.entries(names).map(([name, [title, description]]) =>
    defineField({
      name,
      title,
      description,
      type: 'number',
      validation: (rule) => [
        rule.min(0.01).max(1e6).precision(2),
        rule.custom((value, {document}) => problem(name, value, document ?? {})),
      ],
    }),
  )
}

/** Returns what is wrong with a quantity, or true. */
function problem(name: string, value: number | undefined, document: Record<string, unknown>) {
  const number = (field: string, otherwise: number) => (document[field] as number | undefined) ?? otherwise
  const step = number('step', 1)
  const min = number('minQuantity', step)
  const max = number('maxQuantity', 1e6)
  if (name === 'maxQuantity' && value != null && value < min) return 'Below the smallest quantity'
  if (name !== 'quantity' || value == null) return true
  const isStep = Math.round((value - min) * 100) % Math.round(step * 100) === 0
  return isStep && value >= min && value <= max ? true : 'Not the smallest quantity plus a multiple of the step'
}
