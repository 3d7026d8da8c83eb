// A page of the manual: HTML by heading.
declare module "*.md" {
  const chapters: Record<string, string>;
  export default chapters;
}
