import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { responseHeadersProblem } from '../../src/backends/http_response/http-response.ts';
import { webhook } from '../../src/control/events/destinations/webhook/webhook.ts';
import { HOP_BY_HOP } from '../../src/kit/http/header-values.ts';
import { headerName, isAllowedInTrailers } from '../../src/kit/http1/header-block.ts';
import { SPECIAL } from '../../src/proxy/edge/http/request-head.ts';
import { assertSafeName } from '../../src/proxy/upstream/request-headers.ts';
import { readRequest } from '../../src/tunnel/agent/local/served-request.ts';
import { productFiles } from '../architecture/source-files.ts';

/**
 * The copies of this list had drifted: those of the upstream clients, the agent, webhooks and fixed responses lacked
 * `http2-settings`.
 */
suite('hop-by-hop headers', () => {
  for (const name of HOP_BY_HOP) {
    test(`${name} does not pass from one connection to another`, () => {
      assert.ok(SPECIAL.has(name), 'requests at the edge');
      assert.notEqual(headerName(name)?.kind, 'end-to-end', 'responses of upstreams');
      assert.equal(isAllowedInTrailers(name), false, 'trailers');
      assert.notEqual(responseHeadersProblem({ [name]: 'x' }), null, 'http_response backends');
      const target = { url: 'https://hooks.example.com', secret: '', previous_secret: '', headers: { [name]: 'x' } };
      assert.equal(webhook.check?.(target as never).length, 1, 'webhooks');
    });
  }

  test('upstream clients and agents let TE through, and no other', () => {
    // RFC 9110 §10.1.4: the edge has reduced it to "trailers", which gRPC services need.
    const passing = HOP_BY_HOP.filter((name) => readRequest([name, 'trailers'])?.headers.includes(name));
    assert.deepEqual(passing, ['te']);
    const sendable = HOP_BY_HOP.filter((name) => {
      try {
        assertSafeName(name);
        return true;
      } catch {
        return false;
      }
    });
    assert.deepEqual(sendable, ['te']);
  });

  test('the list exists once', () => {
    const copies = productFiles().filter(({ text }) => /['` ]proxy-connection['` ]/.test(text));
    assert.deepEqual(
      copies.map(({ path }) => path),
      ['src/kit/http/header-values.ts'],
    );
  });
});
