// The rule for phone numbers that every client of the service must follow.
import type { CalculatorQuery } from "../generated/calculator";

type Settings = NonNullable<CalculatorQuery["SiteSettings"]>;
export type Phone = NonNullable<Settings["contactPhones"]>[number];

/**
 * Returns the phone numbers for one place: those of `contactPhones` with this location. If the list is empty, the legacy
 * number is shown everywhere.
 */
export function phonesAt(settings: Settings | null, place: "contact" | "footer"): Phone[] {
  if (settings?.contactPhones?.length) {
    return settings.contactPhones.filter((phone) => phone.displayLocation.includes(place));
  }
  if (settings?.contactPhone) {
    const { contactPhone: number, contactPhoneLink: link } = settings;
    return [{ number, label: null, displayLocation: ["contact", "footer"], link }];
  }
  return [];
}
