/** Pages whose code is loaded when somebody opens one of them: one file, so that one request is enough. */
export { AccessPage } from './access/access-page.tsx';
export { CertificatesPage } from './certificates/certificates-page.tsx';
export { ChangePage } from './changes/change-page.tsx';
export { ChangesPage } from './changes/changes-page.tsx';
export { EventsPage } from './events/events-page.tsx';
export { ExplainPage } from './explain/explain-page.tsx';
export { KeysPage } from './keys/keys-page.tsx';
export { PeoplePage } from './people/people-page.tsx';
export { PersonPage } from './people/person-page.tsx';
export { PublishPage } from './publish/publish-page.tsx';
export { SearchPage } from './search/search-page.tsx';
export { SessionsPage } from './sessions/sessions-page.tsx';
export { SettingsPage } from './settings/settings-page.tsx';
export { SitePage } from './sites/site-page.tsx';
export { RequestPage } from './traffic/request-page.tsx';
export { TunnelsPage } from './tunnels/tunnels-page.tsx';
