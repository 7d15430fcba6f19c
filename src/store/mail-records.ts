/** Mails that wait to be sent. The history does not have them: they would outlive their secrets there. */
export const MAIL_KIND = 'mail';
