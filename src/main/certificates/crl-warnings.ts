import type { Clock } from '../../lib/clock.ts';
import type { RecordReader } from '../../replica/record-table.ts';
import { CRL_KIND, crlId, crlModeOf, crlStatus } from '../../revocation/authority-crl.ts';
import { problemLine } from '../../snapshot/problems.ts';
import type { StoredRecord } from '../../store/store.ts';

const AUTHORITY_KIND = 'certificate_authority';

/** Why the clients of an authority are not checked for revocation, or all rejected, as one line of ASCII. */
export function crlWarning({ kind, id, doc }: StoredRecord, reader: RecordReader, clock: Clock): string | undefined {
  if (kind !== AUTHORITY_KIND) return undefined;
  const { status } = crlStatus(doc, reader.get(CRL_KIND, crlId(id))?.doc, clock.nowMs());
  if (status === 'off' || status === 'current') return undefined;
  const effect = crlModeOf(doc) === 'hard' ? 'are rejected' : 'are accepted without a check';
  const message = `the revocation list is ${status.replaceAll('_', ' ')}; client certificates of this authority ${effect}`;
  return problemLine([{ module: 'crl', message, place: id }]);
}
