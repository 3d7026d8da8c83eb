// The API reference: Scalar's page of the OpenAPI description, with a client to try the routes. It loads nothing from
// other origins. (Redoc's free edition is smaller, but has no such client.)
import "../playground/nonce.js";
import "@scalar/api-reference/browser/standalone.js";

declare const Scalar: { createApiReference(selector: string, options: object): unknown };

const { cacheToken, webhookToken } = document.getElementById("docs")!.dataset;

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
  // Tokens of development are filled in; of others the page knows the setting's name only.
  authentication: { securitySchemes: { cacheToken: { token: cacheToken }, webhookToken: { token: webhookToken } } },
  customCss: ".light-mode { --scalar-color-accent: #0f766e } .dark-mode { --scalar-color-accent: #3cc4b4 }",
});
