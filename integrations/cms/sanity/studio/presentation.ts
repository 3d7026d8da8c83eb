import {defineLocations, presentationTool} from 'sanity/presentation'

/** The address of the site, and its route that starts a preview: see ../preview. */
const site = 'https://www.example.com'
const enable = '/api/draft-mode/enable'

/** Shows the site with drafts next to a document. Add it to `plugins` in `sanity.config.ts`. */
export const presentation = presentationTool({
  previewUrl: {initial: site, previewMode: {enable}},
  allowOrigins: [site],
  resolve: {
    locations: {
      siteSettings: defineLocations({message: 'Shown on every page', tone: 'caution'}),
      heroSection: defineLocations({
        select: {title: 'title', language: 'language'},
        resolve: (hero) => ({
          locations: [{title: hero?.title || 'Hero', href: `/${hero?.language || 'en'}`}],
        }),
      }),
      quoteOption: defineLocations({
        select: {label: 'label.en'},
        resolve: (option) => ({
          locations: [{title: `Calculator: ${option?.label || 'a choice'}`, href: '/calculator'}],
        }),
      }),
    },
  },
})
