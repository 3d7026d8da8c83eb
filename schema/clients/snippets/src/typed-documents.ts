// The recipes' query() takes text, and documents with types.
import { query as onAstro } from "../../../../integrations/cms/sanity/preview/astro/lib/siteapi";
import { query } from "../../../../integrations/cms/sanity/preview/next/lib/siteapi";
import type { AstroCookies } from "astro";
import { CalculatorDocument, type CalculatorQuery } from "../../../../cmd/siteapi/internal/pages/generated/calculator";

export async function check(cookies: AstroCookies) {
  const results: CalculatorQuery[] = [
    await query(CalculatorDocument, { locale: "ro" }),
    await query<CalculatorQuery>("{ SiteSettings(id: \"siteSettings\") { title } }", { locale: "ro" }),
    await onAstro(CalculatorDocument, { locale: "ro" }, cookies),
  ];
  // @ts-expect-error The schema has no such locale.
  await query(CalculatorDocument, { locale: "fr" });
  // @ts-expect-error Documents as syntax trees can't be sent.
  await query({ kind: "Document", definitions: [] }, { locale: "ro" });
  return results;
}
