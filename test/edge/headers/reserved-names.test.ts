import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Module } from '../../../src/modules/contract/module.ts';
import { modules } from '../../../src/modules/registry.ts';
import { nameMatcher, reservedNames } from '../../../src/modules/reserved-names.ts';
import { DroppedHeaders } from '../../../src/proxy/edge/http/request-head.ts';

const toy = (declared: Partial<Module>): Module => ({ name: 'toy', ...declared }) as Module;

test('names that upstreams trust are reserved by the modules that send them', () => {
  const isReserved = nameMatcher(reservedNames(modules).headers);
  for (const name of ['client-cert', 'client-cert-chain', 'postern-auth-user-id', 'postern-mtls-serial']) {
    assert.ok(isReserved(name), name);
  }
  for (const name of ['ngrok-auth-user-email', 'ngrok-mtls-subject-cn']) assert.ok(isReserved(name), name);
  assert.ok(!isReserved('client'));
});

test('a reserved header is dropped from every client, from trusted proxies too', () => {
  const { headers } = reservedNames([...modules, toy({ reservedHeaders: ['x-toy', 'x-client-ip', 'x-play-*'] })]);
  const dropped = new DroppedHeaders([], headers);
  for (const name of ['x-toy', 'x-client-ip', 'x-play-mate', 'client-cert', 'postern-anything']) {
    assert.ok(dropped.has(name, 'GET', false), name);
    assert.ok(dropped.has(name, 'GET', true), `${name} from a proxy`);
  }
  assert.ok(dropped.hasAlias('x.toy', 'GET'), 'CGI reads it as x-toy');
  assert.ok(!dropped.has('x-toys', 'GET', false));
  assert.ok(!new DroppedHeaders(['x-client-ip']).has('x-client-ip', 'GET', true), 'a proxy states addresses');
});

test('a server with malformed or contradictory declarations does not start', () => {
  const declared: readonly (readonly [Partial<Module>, RegExp])[] = [
    [{ reservedHeaders: ['X-Toy'] }, /the toy module declares the header X-Toy, which is malformed/],
    [{ reservedHeaders: ['x|.*'] }, /malformed/],
    [{ reservedHeaders: [''] }, /malformed/],
    [{ reservedCookies: ['Toy'] }, /the cookie Toy, which is malformed/],
    [{ ownPaths: ['/toy'] }, /the path \/toy, which is malformed/],
    [{ ownPaths: ['/.postern/login'] }, /the modules basic_auth and toy both declare the path \/\.postern\/login/],
    [{ reservedHeaders: ['postern-auth-*'] }, /basic_auth and toy both declare the header/],
  ];
  for (const [declaration, expected] of declared) {
    assert.throws(() => reservedNames([...modules, toy(declaration)]), expected);
  }
});
