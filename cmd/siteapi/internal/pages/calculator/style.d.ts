/** A style sheet as a string, as the build bundles it into the element. */
declare module "*/calculator.css" {
  const style: string;
  export default style;
}
