/** The languages of the site. A test in siteapi compares them with its schema. */
export const locales = [
  {id: 'en', title: 'English'},
  {id: 'es', title: 'Español'},
  {id: 'ro', title: 'Română'},
] as const
