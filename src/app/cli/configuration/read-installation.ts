import { queryString } from '../../../client/fill-path.ts';
import type { RequestOptions } from '../../../client/request-options.ts';
import { nextQuery } from '../../../client/resource-client.ts';
import type { ApiRequest, RawAnswer } from '../../../client/transport.ts';
import type { InstallationDocuments } from '../../../control/configuration-file/installed-objects.ts';
import { listedKinds } from '../../../control/configuration-file/sections.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { CommandContext } from '../command.ts';

/** What plans need of the API: a connection has it, and so has a server that asks itself. */
export interface ApiSender {
  send(request: ApiRequest, options?: Pick<RequestOptions, 'timeoutMs'>): Promise<Pick<RawAnswer, 'text'>>;
}

interface Installation {
  readonly documents: InstallationDocuments;
  /** The revision of the documents. */
  readonly revision: number;
}

interface ReadOptions {
  /** Only these sections of the file, so that a key needs no other scopes. Absent: all. */
  readonly sections?: ReadonlySet<string>;
  /** Called with the number of documents so far. */
  readonly onProgress?: (count: number) => void;
}

const PAGE = 100;
const MAX_ATTEMPTS = 5;

/**
 * Everything that the file can have, at one revision; null when the configuration changed each time while it was read.
 */
export async function readInstallation(transport: ApiSender, options: ReadOptions = {}): Promise<Installation | null> {
  let revision = await currentRevision(transport);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const documents = await readDocuments(transport, options);
    const after = await currentRevision(transport);
    if (after === revision) return { documents, revision };
    revision = after;
  }
  return null;
}

/** An empty changeset that is only checked: its answer names the revision. */
async function currentRevision(transport: ApiSender): Promise<number> {
  const body = { operations: [], dry_run: true };
  const { text } = await transport.send({ method: 'POST', path: '/changesets', body });
  return (JSON.parse(text) as { readonly revision: number }).revision;
}

async function readDocuments(
  transport: ApiSender,
  { onProgress, sections }: ReadOptions,
): Promise<InstallationDocuments> {
  const found: Record<string, readonly JsonObject[]> = {};
  let count = 0;
  for (const { documentsKey, resource } of listedKinds((section) => sections?.has(section) !== false)) {
    const documents: JsonObject[] = [];
    let query: object = { limit: PAGE };
    for (;;) {
      const { text } = await transport.send({ method: 'GET', path: `${resource.path}${queryString(query)}` });
      const page = JSON.parse(text) as JsonObject;
      const items = page[resource.listKey] as readonly JsonObject[];
      documents.push(...items);
      count += items.length;
      onProgress?.(count);
      if (typeof page['next_page_uri'] !== 'string') break;
      query = nextQuery(page['next_page_uri']);
    }
    found[documentsKey] = documents;
  }
  return found;
}

const EXIT_CONFLICT = 3;

/** The configuration has no state that the command could read as a whole. */
export function reportMoving(context: CommandContext): number {
  context.warn('postern: the configuration changed each time while it was read: try again when fewer changes are made');
  return EXIT_CONFLICT;
}
