import {defineField, defineType} from 'sanity'
import {localizedString} from './fields'

/** The pricing rules of the quote options: one document with the _id "quoteRules". */
export const quoteRules = defineType({
  name: 'quoteRules',
  title: 'Quote rules',
  type: 'document',
  fields: [
    defineField({
      name: 'currency',
      title: 'Currency',
      type: 'string',
      description: 'ISO 4217 code of all prices, for example EUR',
      validation: (rule) => [
        rule.required(),
        rule.custom((code) =>
          !code || Intl.supportedValuesOf('currency').includes(code) ? true : 'Not an ISO 4217 currency code',
        ),
      ],
    }),
    defineField({
      name: 'spreadPercent',
      title: 'Spread in percent',
      type: 'number',
      description: 'Difference between the lower and the upper end of the range, in percent of the lower end',
      validation: (rule) => rule.required().min(0).max(1000).precision(4),
    }),
    defineField({
      name: 'roundTo',
      title: 'Round to',
      type: 'number',
      description: 'Both ends are rounded to a multiple of this amount, for example 100',
      validation: (rule) => [rule.required().greaterThan(0).max(1e9), rule.custom(wholeMinorUnits)],
    }),
    defineField({
      name: 'minimum',
      title: 'Minimum',
      type: 'number',
      description: 'Minimum of the lower end of the range',
      initialValue: 0,
      validation: (rule) => [rule.min(0).max(1e9), rule.custom(wholeMinorUnits)],
    }),
    defineField({
      name: 'validDays',
      title: 'Valid for days',
      type: 'number',
      initialValue: 30,
      validation: (rule) => rule.integer().min(1).max(3650),
    }),
    defineField({
      name: 'enforce',
      title: 'Enforce',
      type: 'boolean',
      description: 'On: quotes show the computed range. Off: they show the submitted range, and differences are counted.',
      initialValue: false,
    }),
    defineField({
      name: 'taxPercent',
      title: 'Tax in percent',
      type: 'number',
      description: 'Shown for both ends of the range. Leave it empty to say nothing of the amount of tax.',
      validation: (rule) => rule.min(0).max(100).precision(2),
    }),
    defineField({
      name: 'taxIncluded',
      title: 'Prices include the tax',
      type: 'boolean',
    }),
    localizedString('taxLabel', 'Name of the tax', {max: 40, description: 'For example VAT, IVA or TVA'}),
    localizedString('taxNote', 'Note on taxes', {
      max: 300,
      description: 'For example why a firm is exempt. It is shown with the price, also without a percentage.',
    }),
  ],
  preview: {prepare: () => ({title: 'Quote rules'})},
})

/** Checks that an amount has no more decimals than the currency of its document. */
function wholeMinorUnits(amount: number | undefined, {document}: {document?: Record<string, unknown>}) {
  if (amount === undefined || !document?.currency) return true
  try {
    const format = new Intl.NumberFormat('en', {style: 'currency', currency: String(document.currency)})
    const places = format.resolvedOptions().maximumFractionDigits
    return Number(amount.toFixed(places)) === amount ? true : `At most ${places} decimals in ${document.currency}`
  } catch {
    return true // an invalid currency is reported by its own check
  }
}
