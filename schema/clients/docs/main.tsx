// The API reference: Scalar's, of what the service says about itself. It loads nothing from elsewhere.
import "../../playground/src/nonce.js";
import "@scalar/api-reference/browser/standalone.js";

declare const Scalar: { createApiReference(selector: string, options: object): unknown };

Scalar.createApiReference("#docs", {
  url: "/api/openapi.json",
  theme: "none",
  layout: "modern",
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
  persistAuth: false,
});
