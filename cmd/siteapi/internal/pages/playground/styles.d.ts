// Declares the style sheets, which the build bundles.
declare module "*.css";
