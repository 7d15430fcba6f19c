import { readUpstreamTls } from '../config/read-tunnel.ts';
import { labelProblem } from '../config/tunnel-rules.ts';
import type { YamlFields } from '../config/yaml-fields.ts';
import { moduleKeys, modulesFromYaml } from '../modules/modules-from-yaml.ts';
import { type DockerConfig, type DockerDefaults, NO_DOCKER_CONFIG } from './docker-config.ts';
import { engineAddress } from './engine-address.ts';
import { emailProblem, groupProblem } from './list-items.ts';

/** Lists of people are written directly: labels of containers narrow them. */
const MODULE_KEYS = moduleKeys().filter((key) => key !== 'access');
const DEFAULTS_KEYS = ['allow_groups', 'allow_emails', 'allow_public', 'upstream_tls', ...MODULE_KEYS];

/** Null without the section. Every problem has been recorded by then. */
export function readDocker(fields: YamlFields): DockerConfig | null {
  const docker = fields.map('docker', ['socket', 'defaults', 'shared_labels']);
  if (docker === null) return null;
  const defaults = docker.map('defaults', DEFAULTS_KEYS);
  return {
    socket: docker.text('socket', socketProblem),
    defaults: defaults === null ? NO_DOCKER_CONFIG.defaults : readDefaults(defaults),
    sharedLabels: docker.textList('shared_labels', 'env=prod', labelProblem) ?? [],
  };
}

function readDefaults(fields: YamlFields): DockerDefaults {
  const defaults = {
    modules: modulesFromYaml(fields),
    allowGroups: fields.textList('allow_groups', 'ops', groupProblem) ?? [],
    allowEmails: fields.textList('allow_emails', 'ana@example.com', emailProblem) ?? [],
    allowPublic: fields.boolean('allow_public') ?? false,
    upstreamTls: readUpstreamTls(fields),
  };
  if (fields.is('login', false) && defaults.allowGroups.length + defaults.allowEmails.length > 0) {
    fields.problem('login', 'docker.defaults.login must be true with allow_groups or allow_emails');
  }
  return defaults;
}

function socketProblem(text: string): string | null {
  const address = engineAddress(text);
  return 'problem' in address ? address.problem : null;
}
