import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { clientUriProblem } from './oidc-clients.ts';

suite('URIs of OpenID clients', () => {
  for (const uri of [
    'https://wiki.example.com/callback',
    'https://wiki.example.com:8443/callback?tenant=a',
    'http://127.0.0.1:3000/callback',
    'http://[::1]:3000/callback',
    'http://localhost/callback',
  ]) {
    test(`accepts ${uri}`, () => assert.equal(clientUriProblem(uri), null));
  }

  for (const [uri, says] of [
    ['http://wiki.example.com/callback', /use https/],
    ['http://127.0.0.1.evil.example/callback', /use https/],
    ['http://localhost.evil.example/callback', /use https/],
    ['javascript:alert(1)', /use https/],
    ['com.example.app:/callback', /use https/],
    ['//wiki.example.com/callback', /not an absolute URL/],
    ['https://wiki.example.com@evil.example/', /user or password/],
    ['https://wiki.example.com/callback#x', /fragment/],
    ['https://wiki.example.com/callback#', /fragment/],
    ['https://*.example.com/callback', /wildcards/],
    ['https://wiki.example.com/a/../b', /write it as "https:\/\/wiki\.example\.com\/b"/],
    ['https://wiki.example.com\\@evil.example/', /write it as/],
    ['https://WIKI.example.com/callback', /write it as/],
    ['https://wiki.example.com:443/callback', /write it as/],
    ['https://wiki.example.com', /write it as "https:\/\/wiki\.example\.com\/"/],
    [' https://wiki.example.com/callback', /write it as/],
    ['https://wiki.example.com/call\nback', /write it as/],
  ] as const) {
    test(`rejects ${JSON.stringify(uri)}`, () => assert.match(clientUriProblem(uri) ?? '', says));
  }
});
