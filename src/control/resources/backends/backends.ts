import Type from 'typebox';
import { PosternError } from '../../../kit/errors.ts';
import { upstreamAddressProblem } from '../../../kit/net/listen-address.ts';
import { resourceErrors } from '../errors.ts';
import type { Operation } from '../operation.ts';
import type { LiveResource } from '../resource.ts';

export interface TargetTestPorts {
  readonly targetTester: TargetTester;
}

/** Dials an address as an edge would, and sends nothing. */
export interface TargetTester {
  test(target: { readonly address: string; readonly isTls: boolean }): Promise<TargetResult>;
}

/** `wait`: seconds until another test is allowed. */
export type TargetResult = { readonly reason: string | null } | { readonly waitSeconds: number };

const PATH = '/backends';

/** The reasons of upstream failures that a dial can have, and what to do about each. */
const ADVICE: Readonly<Record<string, string>> = {
  refused: 'nothing listens there: start the service, or correct the port',
  timeout: 'it does not answer: check the address, and the firewalls between this server and it',
  dns: 'the name has no address: check how it is written, and the DNS of this server',
  unreachable: 'no network of this server leads there: check the address',
  tls: 'it does not speak TLS, or its certificate is not valid for this name: try it without TLS, or correct the certificate',
  forbidden_address:
    'the server does not connect to this address, which belongs to itself or to the metadata of a cloud: see upstream_allow_cidrs',
  closed: 'it closes the connection: check which service has the port',
};
const OTHER = 'failed';
const OTHER_ADVICE = 'the connection failed: check that the service runs there';

const test: Operation<TargetTestPorts> = {
  resource: 'backends',
  verb: 'test',
  method: 'POST',
  path: `${PATH}/test`,
  summary: 'Test whether an address can be reached',
  description:
    'Connects to an address as an edge of the server that answers would, before a backend names it, and closes the connection. Nothing is sent, and nothing that the service says is shown. The addresses that upstreams may not have are rejected in the same way. A server does at most 30 tests per minute.',
  body: {
    schema: Type.Object({
      address: Type.String({
        minLength: 1,
        maxLength: 300,
        description: 'Address: "host:port", such as "10.0.0.5:3000" or "[2001:db8::1]:443".',
      }),
      tls: Type.Optional(
        Type.Boolean({ description: 'Connect over TLS, and verify the certificate. Default: false.' }),
      ),
    }),
    example: { address: '10.0.0.5:3000', tls: false },
  },
  success: {
    status: 200,
    schema: Type.Object({
      reachable: Type.Boolean({ description: 'Whether the connection succeeded.' }),
      reason: Type.Union([Type.Enum([...Object.keys(ADVICE), OTHER]), Type.Null()], {
        description: 'Why it did not; null if it succeeded.',
      }),
      advice: Type.Union([Type.String(), Type.Null()], { description: 'What to do; null if it succeeded.' }),
    }),
    description: 'Result of the test.',
  },
  errors: ['ERR_POSTERN_INVALID_BODY', 'ERR_POSTERN_TOO_MANY_TESTS'],
  run: async ({ body }, { targetTester }) => {
    const address = body['address'] as string;
    const problem = upstreamAddressProblem(address);
    if (problem !== null)
      throw new PosternError('ERR_POSTERN_INVALID_BODY', 400, `address ${problem}`, { details: { field: '/address' } });
    const result = await targetTester.test({ address, isTls: body['tls'] === true });
    if ('waitSeconds' in result) throw tooManyTests(result.waitSeconds);
    if (result.reason === null) return { body: { reachable: true, reason: null, advice: null } };
    const reason = result.reason in ADVICE ? result.reason : OTHER;
    return { body: { reachable: false, reason, advice: ADVICE[reason] ?? OTHER_ADVICE } };
  },
};

function tooManyTests(seconds: number): Error {
  return resourceErrors.create('ERR_POSTERN_TOO_MANY_TESTS', `too many tests of addresses: wait ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
  });
}

/** What backends of every kind share; each kind is a resource of its own. */
export const backends: LiveResource<TargetTestPorts> = {
  type: 'live',
  name: 'backends',
  kind: 'backend_test',
  idPrefix: '',
  path: PATH,
  listKey: 'backends',
  title: 'a backend',
  description: 'Tests of addresses, before a backend has them.',
  operations: [test],
};
