// A page of the manual: the HTML below each of its headings.
declare module "*.md" {
  const chapters: Record<string, string>;
  export default chapters;
}
