import {defineArrayMember, defineField, defineType, type UrlRule} from 'sanity'
import {localizedString, strings} from './fields'

const days = {
  monday: 'Monday',
  tuesday: 'Tuesday',
  wednesday: 'Wednesday',
  thursday: 'Thursday',
  friday: 'Friday',
  saturday: 'Saturday',
  sunday: 'Sunday',
}

/** Accepts only addresses that begin with https. */
const https = (rule: UrlRule) => rule.uri({scheme: ['https']})

/** The site's settings: one document with the _id "siteSettings". */
export const siteSettings = defineType({
  name: 'siteSettings',
  title: 'Site settings',
  type: 'document',
  fields: [
    ...strings({title: 'Company name'}),
    localizedString('description', 'Description', {description: 'A sentence for search engines'}),
    defineField({name: 'shareImage', title: 'Picture of shared pages', type: 'image', description: '1200 × 630 pixels'}),
    defineField({
      name: 'accentColor',
      title: 'Accent color',
      type: 'string',
      description: 'Used in quote PDFs, as #rrggbb',
      validation: (rule) => rule.regex(/^#[0-9a-fA-F]{6}$/, {name: '#rrggbb'}),
    }),
    defineField({
      name: 'contactPhones',
      title: 'Telephone numbers',
      type: 'array',
      of: [
        defineArrayMember({
          name: 'contactPhoneNumber',
          type: 'object',
          fields: [
            defineField({name: 'number', title: 'Number', type: 'string', validation: (rule) => rule.required()}),
            localizedString('label', 'Label'),
            defineField({
              name: 'displayLocation',
              title: 'Shown in',
              type: 'array',
              of: [defineArrayMember({type: 'string'})],
              options: {list: ['contact', 'footer']},
              validation: (rule) => rule.required().unique().min(1),
            }),
          ],
          preview: {select: {title: 'number', subtitle: 'label.en'}},
        }),
      ],
    }),
    defineField({
      name: 'contactPhone',
      title: 'Telephone number for older clients',
      type: 'string',
      description: 'Used if there are no telephone numbers above',
    }),
    defineField({name: 'contactEmail', title: 'E-mail address', type: 'string', validation: (rule) => rule.email()}),
    defineField({
      name: 'website',
      title: 'Website',
      type: 'url',
      description: 'Printed on quote PDFs',
      validation: https,
    }),
    defineField({
      name: 'privacyUrl',
      title: 'Privacy policy',
      type: 'url',
      description: 'The quote calculator links to it',
      validation: https,
    }),
    defineField({
      name: 'logo',
      title: 'Logo',
      type: 'image',
      fields: strings({alt: 'Alternative text'}),
    }),
    defineField({
      name: 'socialLinks',
      title: 'Social profiles',
      type: 'object',
      fields: ['facebook', 'twitter', 'linkedin', 'instagram', 'github'].map((name) =>
        defineField({name, type: 'url', validation: https}),
      ),
    }),
    defineField({
      name: 'address',
      title: 'Address',
      type: 'object',
      fields: [
        defineField({name: 'street', title: 'Street', type: 'text', rows: 2}),
        ...strings({city: 'City', state: 'State', zipCode: 'Postal code', country: 'Country'}),
      ],
    }),
    defineField({
      name: 'businessHours',
      title: 'Opening hours',
      type: 'object',
      fields: Object.entries(days).map(([name, title]) => localizedString(name, title, {description: 'For example, "09:00 - 18:00" or "Closed"'})),
    }),
  ],
  preview: {prepare: () => ({title: 'Site settings'})},
})
