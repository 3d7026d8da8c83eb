// The rule for telephone numbers that every client of the service follows.
import type { CalculatorQuery } from "../generated/calculator.js";

type Settings = NonNullable<CalculatorQuery["SiteSettings"]>;
export type Phone = NonNullable<Settings["contactPhones"]>[number];

/**
 * Returns the telephone numbers to show in one place: those of `contactPhones` that belong there. Where that list is
 * empty the legacy number belongs everywhere.
 */
export function phonesAt(settings: Settings | null, place: "contact" | "footer"): Phone[] {
  if (settings?.contactPhones?.length) {
    return settings.contactPhones.filter((phone) => phone.displayLocation.includes(place));
  }
  if (settings?.contactPhone) {
    return [{ number: settings.contactPhone, label: null, displayLocation: ["contact", "footer"] }];
  }
  return [];
}
