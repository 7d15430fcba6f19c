import assert from 'node:assert/strict';
import type { JsonObject } from '../../src/kit/json.ts';
import type { ApiConnection } from '../support/api-connection.ts';
import { COLLECTIONS, type DocumentKey, documentsIn } from './rendered-documents.ts';

/** Everything that the API shows now, page by page. */
export async function observe(api: ApiConnection): Promise<Map<DocumentKey, JsonObject>> {
  const documents = new Map<DocumentKey, JsonObject>();
  for (const { kind, path, listKey } of COLLECTIONS) {
    for (let page: string | null = path; page !== null; ) {
      const { status, body } = await api.send('GET', page);
      assert.equal(status, 200, `GET ${page}: ${JSON.stringify(body)}`);
      for (const item of body[listKey] as JsonObject[]) {
        for (const [key, document] of documentsIn(kind, item)) {
          assert.ok(!documents.has(key), `${key} is listed twice`);
          documents.set(key, document);
        }
      }
      page = body.next_page_uri === null ? null : pathIn(body.next_page_uri as string);
    }
  }
  return documents;
}

/** The server has a base URL that stays the same while its port changes. */
function pathIn(uri: string): string {
  const { pathname, search } = new URL(uri);
  return pathname + search;
}
