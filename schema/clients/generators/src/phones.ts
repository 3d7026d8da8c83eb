// What a page asks with genql: the firm's phone numbers.
import { createClient } from "../build/genql";

export async function phones(url: string): Promise<string[]> {
  const { SiteSettings } = await createClient({ url }).query({
    SiteSettings: { __args: { id: "siteSettings" }, contactPhones: { number: true } },
  });
  return SiteSettings?.contactPhones?.map((phone) => phone.number) ?? [];
}
