/** Pages whose code is loaded when somebody opens one of them: one file, so that one request is enough. */
export { AccessPage } from './access/access-page.tsx';
export { EventsPage } from './events/events-page.tsx';
export { ExplainPage } from './explain/explain-page.tsx';
export { AccountPage } from './people/account-page.tsx';
export { PublishPage } from './publish/publish-page.tsx';
export { SettingsPage } from './settings/settings-page.tsx';
export { SitePage } from './sites/site-page.tsx';
export { TunnelsPage } from './tunnels/tunnels-page.tsx';
