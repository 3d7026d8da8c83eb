// Contents of the CMS, one for each state that clients must handle.
const settings = { _id: "siteSettings", _type: "siteSettings", contactEmail: "hello@example.com" };

export const phones = [
  { number: "+44 20 7946 0018", label: { en: "Sales", es: "Ventas", ro: "Vânzări" }, displayLocation: ["contact", "footer"] },
  { number: "+44 20 7946 0321", label: { en: "Support", es: null, ro: null }, displayLocation: ["contact"] },
];

export const contents = {
  manyPhones: [{ ...settings, contactPhones: phones, contactPhone: "+44 20 7946 0018" }],
  legacyPhone: [{ ...settings, contactPhone: "+44 20 7946 0018" }],
  noPhones: [settings],
  noSettings: [{ _id: "heroSection-en", _type: "heroSection", language: "en", title: "Hello" }],
};
