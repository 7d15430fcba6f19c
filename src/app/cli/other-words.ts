/** Words that people type for a job, or know from another program, and what does that here. */
const COMMANDS: Readonly<Record<string, string>> = {
  add: '"postern up HOST --to 3000" publishes a site, "postern users add EMAIL" invites a person, "postern agents invite" adds an agent',
  'api-key': '"postern api api-keys create" makes an API key, "postern store create-key" one without a running server',
  auth: '"postern open" logs you in to the console, "postern agent join" connects an agent',
  backup: '"postern store backup FILE" backs up a running server, "postern store restore FILE" restores it',
  ban: '"postern edge HOST --only ADDRESS" lets in only some addresses, "postern api ip-policy-rules create" blocks others',
  block:
    '"postern edge HOST --only ADDRESS" lets in only some addresses, "postern api ip-policy-rules create" blocks others',
  connect: '"postern agent join" connects an agent to a server, "postern http 3000" exposes a local service',
  create: '"postern up HOST --to 3000" publishes a site, "postern api RESOURCE create" makes anything else',
  delete:
    '"postern down HOST" removes a site, "postern users remove EMAIL" a person, "postern api RESOURCE delete" anything else',
  diff: '"postern plan FILE" shows how files differ from the server, "postern changes show REVISION" what a change did',
  init: '"postern up HOST --to 3000" sets up a server and publishes a site',
  install: '"postern service install" runs the server as a service, "postern up HOST --to 3000" also publishes a site',
  invite: '"postern users add EMAIL" invites a person, "postern agents invite" an agent',
  key: '"postern api api-keys create" makes an API key, "postern store rotate-key" replaces the key of the store',
  list: '"postern status" shows the sites, "postern api https-edges list" all of them',
  live: '"postern requests tail" prints requests as they finish',
  log: '"postern requests tail" prints requests as they finish; the log of an installed server is in journalctl -u postern',
  login: '"postern open" logs you in to the console',
  logs: '"postern requests tail" prints requests as they finish; the log of an installed server is in journalctl -u postern',
  ls: '"postern status" shows the sites, "postern api https-edges list" all of them',
  maintenance:
    '"postern api maintenance replace HOST/ --message TEXT" pauses a site, "postern api maintenance delete HOST/" opens it again',
  password: '"postern edge HOST --to 3000 --password" protects a site with a password',
  pause:
    '"postern api maintenance replace HOST/ --message TEXT" pauses a site, "postern api maintenance delete HOST/" opens it again',
  people: '"postern users list" lists people, "postern users add EMAIL" invites one',
  problems: '"postern alerts" lists what is wrong now, "postern doctor" also says what to do',
  ps: '"postern status" shows the server, its sites and its agents',
  publish: '"postern up HOST --to 3000" publishes a site',
  remove:
    '"postern down HOST" removes a site, "postern users remove EMAIL" a person, "postern api RESOURCE delete" anything else',
  restore: '"postern store restore FILE" restores a backup, "postern undo REVISION" takes a change back',
  resume: '"postern api maintenance delete HOST/" opens a paused site again',
  revert: '"postern undo REVISION" takes a change back, "postern changes" lists the revisions',
  rm: '"postern down HOST" removes a site, "postern users remove EMAIL" a person, "postern api RESOURCE delete" anything else',
  rollback: '"postern undo REVISION" takes a change back, "postern changes" lists the revisions',
  'rotate-key': '"postern store rotate-key" encrypts all secrets with a new key',
  serve: '"postern server" starts the server, "postern up HOST --to 3000" also publishes a site',
  show: '"postern status" shows the server and its sites, "postern search TEXT" finds one',
  site: '"postern status" shows the sites, "postern up HOST --to 3000" publishes one',
  sites: '"postern status" shows the sites, "postern api https-edges list" all of them',
  stop: '"postern down HOST" removes a site; Ctrl-C or systemctl stop postern stops the server',
  tail: '"postern requests tail" prints requests as they finish, "postern events tail" prints events',
  top: '"postern status --watch" shows the state all the time, "postern requests tail" the requests',
  update: '"postern upgrade-check" says what a new version would change, "postern restart" switches to it',
  upgrade: '"postern upgrade-check" says what a new version would change, "postern restart" switches to it',
  user: '"postern users list" lists people, "postern users add EMAIL" invites one',
  webhook:
    '"postern api event-destinations create" adds a webhook, "postern api event-subscriptions create" says which events it gets',
  webhooks:
    '"postern api event-destinations create" adds a webhook, "postern api event-subscriptions create" says which events it gets',
  whoami: '"postern open" says whom it logs in to the console, "postern api api-keys list" lists the keys',
};

/** Flags of other programs and the sentence that names ours. */
const FLAGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  http: {
    auth: 'use --basic-auth NAME:PASSWORD',
    hostname: 'use --domain HOST',
    subdomain: "use --domain with the whole host name: NAME and the server's domain",
    url: 'use --domain HOST, without https://',
  },
  tls: {
    hostname: 'use --domain HOST',
    subdomain: "use --domain with the whole host name: NAME and the server's domain",
    url: 'use --domain HOST, without tls://',
  },
  tcp: { 'remote-addr': 'use --port PORT', url: 'use --port PORT' },
  ...Object.fromEntries(
    ['up', 'edge'].map((name) => [
      name,
      {
        auth: 'use --password, which asks for the password, or --login',
        'basic-auth': 'use --password, which asks for the password',
        host: `write the host after the command: postern ${name} app.example.com --to 3000`,
        hostname: `write the host after the command: postern ${name} app.example.com --to 3000`,
        port: 'use --to PORT for the service, and HOST:PORT for the address of the site',
        subdomain: `write the whole host name after the command: postern ${name} app.example.com --to 3000`,
        url: `write the host after the command: postern ${name} app.example.com --to 3000`,
      },
    ]),
  ),
};

/** The message for a command of other programs; null: no such word is known. */
export function otherWord(name: string): string | null {
  const ours = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  return ours === undefined ? null : `there is no command "${name}": ${ours}`;
}

/** The message for a flag of other programs. It never has the value, which may be a secret. */
export function otherFlag(command: string, flag: string): string | undefined {
  const rows = Object.hasOwn(FLAGS, command) ? FLAGS[command] : undefined;
  const ours = rows !== undefined && Object.hasOwn(rows, flag) ? rows[flag] : undefined;
  if (ours !== undefined) return `unknown flag --${flag}: ${ours}`;
  return flag === 'yes'
    ? `unknown flag --yes: postern ${command} asks nothing that it answers, so leave it out`
    : undefined;
}
