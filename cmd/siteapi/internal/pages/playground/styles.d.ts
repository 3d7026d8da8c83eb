// Style sheets are bundled by the build; here they are only known to exist.
declare module "*.css";
