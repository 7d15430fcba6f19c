import { usage } from '../../../../kit/flags.ts';
import { parseHttpUrl } from '../../../../kit/http/urls.ts';
import type { JsonObject } from '../../../../kit/json.ts';
import { isOnThisMachine } from '../../api/connection.ts';
import { createTextSource } from '../../api/text-source.ts';
import type { ImportCall, Imported } from '../import-report.ts';
import { readInput } from '../read-input.ts';
import { writtenConfiguration } from '../written-configuration.ts';
import { convertDocuments } from './convert-documents.ts';
import type { RetiredDocuments } from './lost-restrictions.ts';
import { RETIRED_LISTS, readDump } from './read-dump.ts';
import { RetiredApi } from './retired-api.ts';

const DEFAULT_URL = 'https://api.ngrok.com';

/** From the API, or from a dump of its answers. */
export async function importNgrok(call: ImportCall): Promise<Imported> {
  const file = call.flags.get('from-file');
  const answers = file === undefined ? await readApi(call) : readDump(await readInput(file), call.report);
  return writtenConfiguration(convertDocuments(answers, call.report), 'ngrok', call.report);
}

async function readApi(call: ImportCall): Promise<RetiredDocuments> {
  const { context, report } = call;
  const api = new RetiredApi({
    baseUrl: baseUrl(call),
    apiKey: await apiKey(call),
    onPage: (path, count) => context.warn(`postern: read ${count} of ${path}`),
  });
  const documents = new Map<string, readonly JsonObject[]>();
  for (const { path, listKey, key } of RETIRED_LISTS) {
    const items = await api.list(path, listKey);
    if (items === null) report.note(`the API has no list ${path}: nothing of it was read`);
    else documents.set(key, items);
  }
  return { documents, partial: new Set() };
}

function baseUrl({ flags }: ImportCall): string {
  const url = parseHttpUrl(flags.get('base-url') ?? DEFAULT_URL);
  if (url === null) throw usage('--base-url must be an http or https URL');
  if (url.startsWith('http:') && !isOnThisMachine(url)) {
    throw usage('--base-url must be https: the API key would be sent in clear text');
  }
  return url;
}

async function apiKey({ flags, context }: ImportCall): Promise<string> {
  const file = flags.get('api-key-file');
  const given = file === undefined ? flags.get('api-key') : await createTextSource().read(file, 'api-key-file');
  const key = (given ?? context.env['NGROK_API_KEY'] ?? '').trim();
  if (key === '')
    throw usage('no API key: set NGROK_API_KEY or --api-key-file FILE, or use --from-file with saved answers');
  if (!/^[\x21-\x7e]+$/.test(key)) throw usage('the API key must be one line of visible ASCII characters');
  return key;
}
