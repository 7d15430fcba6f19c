import Type from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import { GUEST_LINK_USE_KIND, guestLinkUseId } from '../../modules/guest-link-use.ts';
import type { RecordReader } from '../../replica/record-reader.ts';
import { timestamp } from '../resource.ts';

export const usedBySchema = Type.Array(
  Type.Object({
    session: Type.String({
      description: 'Id of the login session of that browser, starting with "as_".',
      examples: ['as_2zXAMPLEsessionOfTheDocsAAA'],
    }),
    at: timestamp('When the link was redeemed.'),
    ip_address: Type.String({ description: 'Client address of the guest.', examples: ['203.0.113.7'] }),
    user_agent: Type.String({ description: 'The User-Agent header of the browser.', examples: ['Mozilla/5.0'] }),
  }),
  { description: 'The browsers that redeemed the link, first one first.' },
);

export function usedBy(linkId: string, reader: RecordReader): readonly JsonObject[] {
  const uses: JsonObject[] = [];
  for (;;) {
    const use = reader.get(GUEST_LINK_USE_KIND, guestLinkUseId(linkId, uses.length + 1));
    if (use === undefined) return uses;
    const { session = '', at = '', ip_address = '', user_agent = '' } = use.doc;
    uses.push({ session, at, ip_address, user_agent });
  }
}
