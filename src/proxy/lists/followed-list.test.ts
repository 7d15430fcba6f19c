import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { listenOn } from '../../../test/support/listen-on.ts';
import { createGuardedFetch } from '../../kit/http/guarded-fetch.ts';
import { fetchList } from './followed-list.ts';

/** A list whose server answers in this way. */
async function fetched(
  t: TestContext,
  answer: (response: ServerResponse) => void,
  timeoutMs = 60_000,
): Promise<unknown> {
  const server = createServer((_request, response) => answer(response.on('error', () => {})));
  const url = `http://127.0.0.1:${await listenOn(t, server)}/`;
  const fetch = createGuardedFetch({
    ...{ isAddressAllowed: () => true, isPlainHttpAllowed: () => true },
    ...{ maxBytes: 100_000, timeoutMs },
  });
  return fetchList(fetch, { url, headers: {}, known: null, signal: t.signal });
}

test('a body without an end is refused at the limit, and its connection closed', async (t) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const endless = (response: ServerResponse): void => {
    const more = (): void => {
      while (!response.destroyed && response.write('192.0.2.1\n'.repeat(1_000)));
    };
    response.on('drain', more).on('close', resolve);
    more();
  };
  await assert.rejects(() => fetched(t, endless), /larger than 100000 bytes/);
  await closed;
});

test('a server that sends byte after byte is left when the time is over', async (t) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const slow = (response: ServerResponse): void => {
    const timer = setInterval(() => response.write('1'), 20);
    response.on('close', () => {
      clearInterval(timer);
      resolve();
    });
  };
  await assert.rejects(() => fetched(t, slow, 500), /no complete response within 500 ms/);
  await closed;
});

test('a validator that no request could carry is not kept', async (t) => {
  const odd = (response: ServerResponse): void => {
    response.writeHead(200, { etag: `"${'x'.repeat(600)}"`, 'last-modified': 'caf\u00e9' }).end('192.0.2.1');
  };
  const list = (await fetched(t, odd)) as { readonly validators: object };
  assert.deepEqual(list.validators, { etag: '', lastModified: '' });
});
