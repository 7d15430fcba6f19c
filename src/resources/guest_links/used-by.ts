import Type from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { RecordReader } from '../../replica/record-reader.ts';
import { timestamp } from '../resource.ts';

/** One record per browser that has redeemed a link, below the link. */
const USE_KIND = 'guest_link_use';

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
  const uses = reader.pageOfParent(USE_KIND, linkId, { beforeId: null, limit: Number.MAX_SAFE_INTEGER });
  return uses
    .map(({ doc: { session = '', at = '', ip_address = '', user_agent = '' } }) => ({
      session,
      at: at as string,
      ip_address,
      user_agent,
    }))
    .sort((one, other) => (one.at < other.at ? -1 : 1));
}
