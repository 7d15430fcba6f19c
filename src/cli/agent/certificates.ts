import { X509Certificate } from 'node:crypto';
import { dirname, isAbsolute, join } from 'node:path';
import { whyUnreadable } from '../../lib/error-text.ts';
import { usage } from '../../lib/flags.ts';
import { derOf, pemBlocks } from '../../lib/pki/pem-blocks.ts';
import type { AgentPorts } from './agent-ports.ts';
import { agentCommandErrors } from './errors.ts';

/**
 * The certificates in PEM files, one by one; `name` is the flag or key that listed the files. Other blocks of a file
 * are not passed on: a private key must stay private.
 */
export async function readCertificates(
  paths: readonly string[],
  name: string,
  files: AgentPorts['files'],
): Promise<readonly string[]> {
  const texts = await Promise.all(paths.map((path) => readText(path, name, files)));
  return texts.flatMap((text, index) => {
    const blocks = certificateBlocks(text);
    if (blocks === null) throw refused(name, `the file ${paths[index]} contains no PEM certificate`);
    return blocks;
  });
}

/** Null when there is none, or one is malformed. */
export function certificateBlocks(text: string): readonly string[] | null {
  try {
    const blocks = pemBlocks(text).filter(({ label }) => label === 'CERTIFICATE');
    return blocks.length === 0 ? null : blocks.map((block) => new X509Certificate(derOf(block)).toString());
  } catch {
    return null;
  }
}

/** Paths in a file are relative to that file. */
export function besideFile(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

async function readText(path: string, name: string, files: AgentPorts['files']): Promise<string> {
  try {
    return await files.read(path);
  } catch (cause) {
    throw refused(name, `cannot read the file ${path}: ${whyUnreadable(cause)}`, cause);
  }
}

function refused(name: string, what: string, cause?: unknown): Error {
  const message = `${name}: ${what}`;
  return name.startsWith('--')
    ? usage(message)
    : agentCommandErrors.create('ERR_POSTERN_AGENT_CONFIG', message, { cause });
}
