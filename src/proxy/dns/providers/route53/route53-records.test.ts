import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signRequest } from './route53-records.ts';

const CREDENTIALS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: null,
};
const SCOPE = { region: 'us-east-1', service: 'service', nowMs: Date.parse('2015-08-30T12:36:00Z') };

/** Signatures of the published test suite of AWS Signature Version 4 (aws-sig-v4-test-suite). */
const PUBLISHED = [
  ['get-vanilla', 'GET', '/', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  ['post-vanilla', 'POST', '/', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
] as const;

for (const [name, method, path, signature] of PUBLISHED) {
  test(`signs the published request ${name}`, () => {
    const request = { method, url: `https://example.amazonaws.com${path}`, body: '', headers: {} };
    const { authorization } = signRequest(request, CREDENTIALS, SCOPE);
    assert.equal(
      authorization,
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
    );
  });
}

test('signs the example of the documentation, with a header and a query', () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
  const url = 'https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08';
  const scope = { ...SCOPE, service: 'iam' };
  const { authorization } = signRequest({ method: 'GET', url, body: '', headers }, CREDENTIALS, scope);
  assert.match(
    authorization ?? '',
    /SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7$/,
  );
});
