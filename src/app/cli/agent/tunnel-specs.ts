import { X509Certificate } from 'node:crypto';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { whyUnreadable } from '../../../kit/error-text.ts';
import { usage } from '../../../kit/flags.ts';
import { derOf, pemBlocks } from '../../../kit/pki/pem-blocks.ts';
import type { CommandForm } from '../../../modules/agent-modules.ts';
import type { TunnelSpec } from '../../../tunnel/agent/handle.ts';
import type { EndpointModules } from '../../../tunnel/protocol/messages.ts';
import type { AgentPorts } from './agent-ports.ts';
import type { TunnelConfig, UpstreamTlsConfig } from './config/agent-config.ts';
import { agentCommandErrors } from './errors.ts';
import { type ModuleConfig, moduleForms } from './module-forms.ts';

/** The certificates of PEM files; `name` identifies them in messages. */
type ReadCertificates = (files: readonly string[], name: string) => Promise<readonly string[]>;

/** Where a folder is; by default, relative to the working directory. */
type PlaceOfFolder = (folder: string) => string;

type Published = Pick<TunnelSpec, 'name' | 'proto' | 'labels'>;

/** The tunnels to request: one per scheme, and one for anything else. */
export async function tunnelSpecs(
  tunnel: TunnelConfig,
  read: ReadCertificates,
  placeOf: PlaceOfFolder = (folder) => folder,
): Promise<readonly TunnelSpec[]> {
  const modules = await modulesOf(tunnel, read);
  const upstreamTls = tunnel.upstreamTls === null ? undefined : await upstreamTlsOf(tunnel.upstreamTls, read);
  const rest: TunnelSpec = {
    ...addressOf(tunnel, placeOf),
    inspect: tunnel.inspect,
    ...(tunnel.domain !== null && { domain: tunnel.domain }),
    ...(tunnel.remotePort !== null && { port: tunnel.remotePort }),
    ...(tunnel.metadata !== null && { metadata: tunnel.metadata }),
    ...(tunnel.hostHeader !== null && { hostHeader: tunnel.hostHeader }),
    ...(Object.keys(modules).length > 0 && { modules }),
    ...(upstreamTls !== undefined && { upstreamTls }),
  };
  return publishedAs(tunnel).map((published) => ({ ...published, ...rest }));
}

function addressOf({ addr, files }: TunnelConfig, placeOf: PlaceOfFolder): Pick<TunnelSpec, 'addr' | 'files'> {
  if (files === null) return { addr };
  const { folder, fallback, notFoundPage, listing } = files;
  return {
    addr: pathToFileURL(resolve(placeOf(folder))).href,
    files: { listing, ...(fallback !== null && { fallback }), ...(notFoundPage !== null && { notFoundPage }) },
  };
}

export function publishedAs({ name, proto, labels, schemes }: TunnelConfig): readonly Published[] {
  if (labels !== null) return [{ name, labels }];
  if (proto !== 'http') return [{ name, proto: proto ?? 'tcp' }];
  const all = schemes ?? ['https'];
  return all.map((scheme) => ({ name: all.length === 1 ? name : `${name} (${scheme})`, proto: scheme }));
}

async function modulesOf({ modules }: TunnelConfig, read: ReadCertificates): Promise<EndpointModules> {
  const forms = moduleForms().flatMap((form) => {
    const config = modules[form.module];
    return config === undefined ? [] : [[form, config] as const];
  });
  const sent = forms.map(async ([form, config]) => [form.module, await withCertificates(form, config, read)] as const);
  return Object.fromEntries(await Promise.all(sent));
}

/** The fields of the bind message: file names are replaced by the certificates in the files. */
async function withCertificates(
  { key, fields }: CommandForm,
  config: ModuleConfig,
  read: ReadCertificates,
): Promise<ModuleConfig> {
  const files = fields.filter(({ name, isCertificateFile }) => isCertificateFile === true && name in config);
  const texts = files.map(async ({ name }) => [name, await read(config[name] as readonly string[], key)] as const);
  return { ...config, ...Object.fromEntries(await Promise.all(texts)) };
}

async function upstreamTlsOf({ rootCas, serverName, insecureSkipVerify }: UpstreamTlsConfig, read: ReadCertificates) {
  return {
    ...(rootCas.length > 0 && { ca: await read(rootCas, 'upstream_tls') }),
    ...(serverName !== null && { servername: serverName }),
    insecureSkipVerify,
  };
}

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
