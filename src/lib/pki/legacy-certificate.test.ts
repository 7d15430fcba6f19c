import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { issue } from '../../../test/edge/tls/test-authority.ts';

test('TLS connections work after a certificate was read', async () => {
  const { certificatePem } = await issue({ commonName: 'x', dnsNames: ['x'], usages: ['server'] });
  const program = `
    const { X509Certificate } = await import('node:crypto');
    const { legacyCertificate } = await import(${JSON.stringify(import.meta.resolve('./describe-certificate.ts'))});
    console.log(legacyCertificate(new X509Certificate(process.env.PEM)).subject.CN);
    const { connect } = await import('node:tls');
    connect({ host: '127.0.0.1', port: 1 }).on('error', ({ code }) => console.log(code));
  `;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...process.env, PEM: certificatePem },
    encoding: 'utf8',
  });
  assert.equal(output, 'x\nECONNREFUSED\n');
});
