import { hostOf, splitAddress } from '../../lib/net/split-address.ts';
import type { RecordReader } from '../../replica/record-reader.ts';
import type { StoredRecord } from '../../store/store.ts';

const EDGE_KIND = 'https_edge';

type LinkHost = { readonly host: string; readonly port: string } | { readonly problem: string };

/** The host of a link, and the port of its URL. An empty `wanted` stands for the only host of the edge. */
export function linkHost(edge: StoredRecord, wanted: string, reader: RecordReader): LinkHost {
  const hostports = edge.doc['hostports'] as readonly string[];
  const hosts = new Map(hostports.map((hostport) => [hostOf(hostport), String(splitAddress(hostport).port)]));
  const [only] = hosts;
  if (only === undefined) return { problem: `cannot be chosen: the edge ${edge.id} has no hosts yet` };
  if (wanted === '') {
    const isClear = hosts.size === 1 && !only[0].startsWith('*.');
    if (isClear) return { host: only[0], port: only[1] };
    return { problem: `is required, because the edge has ${listOf([...hosts.keys()])}: name one host` };
  }
  const exact = hosts.get(wanted);
  if (exact !== undefined && !wanted.startsWith('*.')) return { host: wanted, port: exact };
  const port = hosts.get(`*.${wanted.slice(wanted.indexOf('.') + 1)}`);
  if (port === undefined || wanted.startsWith('*.')) {
    return { problem: `"${wanted}" is not a host of the edge, which has ${listOf([...hosts.keys()])}` };
  }
  const other = edgeWith(wanted, reader);
  return other === null ? { host: wanted, port } : { problem: `"${wanted}" belongs to another edge, ${other}` };
}

/** A host that is listed takes precedence over a wildcard, also one of another edge. */
function edgeWith(host: string, reader: RecordReader): string | null {
  const edges = reader.page(EDGE_KIND, { beforeId: null, limit: Number.MAX_SAFE_INTEGER });
  const owner = edges.find(({ doc }) =>
    (doc['hostports'] as readonly string[]).some((hostport) => hostOf(hostport) === host),
  );
  return owner?.id ?? null;
}

const MAX_LISTED = 5;

function listOf(hosts: readonly string[]): string {
  const more = hosts.length > MAX_LISTED ? ` and ${hosts.length - MAX_LISTED} more` : '';
  return `${hosts.length === 1 ? 'the host' : 'the hosts'} ${hosts.slice(0, MAX_LISTED).join(', ')}${more}`;
}
