/** What the site of the example for Astro has rendered, by locale. */
export const pages = new Map<string, string>();
