/** Spellings of secrets, for each own rule: the marked part is what the rule takes, all of it and nothing more. */

const mixed = (length: number): string => 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7'.repeat(10).slice(0, length);
const hex = (length: number): string => '0a1b2c3d4e5f6789'.repeat(10).slice(0, length);
const letters = 'abcdefghijklmnopqrstuvwxyz';
const words = 'walk, tree '.repeat(6);

/** Tokens with a prefix: no part of a longer word. */
export const tokens: readonly string[] = [
  ...['ghp_', 'github_pat_', 'glpat-', 'npm_', 'pypi-AgE', 'AIza', 'xoxb-', 'xapp-1-', 'SG.'],
  ...['dop_v1_', 'dapi', 'shpat_', 'sk_live_', 'rk_test_', 'sk-ant-', 'sk-', 'gsk_', 'hf-'],
  ...['tvly-', 'e2b_', 'hvs.', 'sbp_', 'neon_', 'dckr_pat_', 'oy2', 'whsec_', 'lin_api_', 'dp.pt.'],
  ...['dp.st.dev_1.', 'pat-na1-', 'glc_', 'ya29.', 'GOCSPX-', 'sq0atp-', 'AQ.Ab'],
]
  .map((prefix) => `${prefix}${mixed(40)}`)
  .concat(
    ...[`1//0${mixed(40)}`, `abc8Q~${mixed(34)}`, `M${mixed(24)}.${mixed(6)}.${mixed(30)}`],
    ...[`key-${hex(32)}`, `${hex(32)}-us12`, `sk_${hex(48)}`, `bkab_${mixed(40)}`],
    ...[
      `st.${hex(24)}.${hex(32)}.${hex(32)}`,
      `nfp_${mixed(40)}`,
      `CCIPAT_${mixed(22)}_${hex(40)}`,
    ],
    ...[`AKID${mixed(36)}`, `AQVN${mixed(36)}`, `pat${mixed(14)}.${hex(64)}`],
    ...[`perm:${mixed(12)}.${mixed(8)}.${mixed(24)}`, `AQEd${mixed(90)}`],
    ...[`access_token$production$${hex(16)}$${hex(32)}`, `${'A'.repeat(22)}${mixed(70)}`],
    ...[`sl.${mixed(120)}`, `sl.u.${mixed(120)}`, `eyJ${mixed(20)}.${mixed(20)}`],
    ...[`eyJ${mixed(20)}.${mixed(20)}.${mixed(20)}.${mixed(8)}.${mixed(8)}`],
    ...[`v4.local.${mixed(30)}`, `v2.public.${mixed(30)}.${mixed(12)}`],
    ...[`AGE-SECRET-KEY-1${mixed(58)}`, `LS0tLS1CRUdJTiUFJJVkFURSBLRV${mixed(12)}`],
    ...[`LS0tLS1CRUdJTiab3dQUklWQVRFIEtFW${mixed(12)}=`],
    ...[`PuTTY-User-Key-File-2: a\nb\nPrivate-MAC: ${hex(40)}`],
    ...[`PuTTY-User-Key-File-3: a\nb\nPrivate-MAC:${hex(40)}`],
  );

/** Secrets that need the words around them. */
export const marked: readonly string[] = [
  ...['', 'RSA '].map(
    (kind) =>
      `«-----BEGIN ${kind}PRIVATE KEY-----\n${mixed(20)}\n-----END ${kind}PRIVATE KEY-----»`,
  ),
  `«-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n${mixed(9)}\n-----END PGP PRIVATE KEY BLOCK-----»`,
  ...[`«123456789:A${mixed(34)}»`, `x«$6$saltsalt$${mixed(40)}»`, `«$argon2id$v=19$${mixed(40)}»:`],
  `https://hooks.slack.com/services/«T0/B0/${mixed(20)}»`,
  `https://discord.com/api/webhooks/«123/${mixed(40)}»`,
  `https://ptb.discordapp.com/api/v10/webhooks/«123/${mixed(40)}»`,
  `https://a-b.c.webhook.office.com/«${mixed(30)}»`,
  ...['authorization:digest «user="bob", x=1»\nnext', `'authorization'  =  'Digest  «qop=auth»`],
  ...[`SSWS «${mixed(24)}»`, `SSWS  «${mixed(24)}»`],
  ...[`_auth=«${mixed(12)}»`, `_auth  :  "«${mixed(12)}==»"`],
  ...[`"auth":"«${mixed(20)}==»"`, `\\"identitytoken\\"  :  \\"«${mixed(20)}»\\"`],
  ...['key="db.password" value="«abcdef»"', 'name=\\"TOKEN\\"  value=\\"«abcdef»\\"'],
  'token%3D«ab%2Fcdef%3agh»%26x',
  ...['authorization:Bearer «abcdefgh»\nnext', 'Proxy-Authorization=basic «abcd»"'],
  ...[`'authorization'  :  'token  «ab\\"cdef»'`, 'authorization=ApiKey «ab, cd=1»\n'],
  ...[`authorization:«${mixed(20)}»,`, `"Proxy-Authorization"  =  "«${mixed(20)}»"`],
  ...[`bearer «${mixed(14)}» x`, `Basic  «${mixed(14)}==» x`],
  ...['Cookie:«sid=abc»\nnext', '"set-cookie"  :  ["«a.b=1; Path=/»"]', 'set-cookie2=«aa=b»'],
  ...['curl -u bob:«pw1» h', 'curl -s  --user="bob:«pw1»" h', 'curl h -ubob:«pw1»'],
  ...['amqp', 'amqps', 'redis', 'rediss', 'postgres', 'postgresql', 'mysql', 'mongodb'].map(
    (scheme) => `${scheme}://«bob:1234/x»@h`,
  ),
  ...['mongodb+srv', 'ftp', 'sftp', 'ftps', 'smtp', 'smtps', 'ldap', 'ldaps', 'imap', 'imaps'].map(
    (scheme) => `${scheme}://«bob:1234/x»@h`,
  ),
  ...['https://«bob:hunter2»@h', 'a+b://«:12»@h', `https://«${mixed(20)}»@h`],
  ...['?token=«abcd»&x', '&x_key=«abcd» ', ';a-b.sig=«abcd»#', '?token=«${ab}cdef»&'],
  ...['<input type=password value="«abc»">', `<input id="a" type="password" id=b value='«abc»'>`],
  ...[`'x-api-key','«abcde1»'`, `"cookie"  ,  "«abcde1»"`],
  ...[`auth=('bob','«abc»')`, 'auth  =  (  "bob"  ,  "«abc»")'],
  ...['sshpass -p«abc» ssh', `sshpass  -p  '«abc»' ssh`],
  ...['mysql -p«abc» shop', `mysqldump -u root -p'«abc»' shop`, 'mysqladmin  -p"«abc»"'],
  ...[`mnemonic:«${words}choice».`, `seedphrase="«${words}choice»"`],
  `recovery phrase"  =  '«${words}choice»'`,
  'machine h login bob password «abc»',
  'machine  h.example\n  login  bob\n  password  «abc»\n',
  'jdbc:oracle:thin:scott/«tiger»@h',
  ...[`[redacted],«${mixed(40)}»`, `[redacted]  "«${mixed(40)}»"`],
  ...[`identified by '«abcd»'`, `IDENTIFIED  WITH  some_plugin  BY  AS  '«abcd»'`],
  `create user bob with password '«abcd»'`,
  ...[`password: «${letters}»`, `  - DB_passwd:  «correct-horse-battery»\nx`],
  ...['echo «abcd»|sudo -S ls', 'echo  -n  "«abcd»"  |  sudo -u bob -S ls'],
  'echo «abcd» | docker login --password-stdin',
  ...[`define('DB_PASSWORD','«abcd»')`, 'define(  "a_key"  ,  "«abcd»")'],
  ...['"DB_PASSWORD","«abcdefg1»"', `'MY_API_KEY'  ,  '«1abcdefg»'`, `'APIKEY','«1abcdefg»'`],
  ...['totp=«ABCDEFGHIJKLMNOP»', '"otp_secret"  :  "«ABCDEFGHIJKLMNOP»"', '2fa=«ABCDEFGHIJKLMNOP»'],
  ...['psk=«abcdefgh»', 'wpa_passphrase  =  "«abcdefgh»"'],
  'https%3A%2F%2Fuser%3A«abc»%40h',
];

/** What looks like a secret, and no rule takes: a word in front or behind, no digit, a place-holder, a place to fill in. */
export const readable: readonly string[] = [
  ...['ghp_', 'sk-', 'gsk_', 'lin_api_', 'bearer ', 'basic '].map(
    (prefix) => `${prefix}${letters}`,
  ),
  ...[`M${mixed(24)}.${mixed(6)}.${mixed(60)}`, `123456789012:A${mixed(34)}`],
  ...[`123456789:A${mixed(36)}`, `key-${hex(33)}`, `${hex(32)}-us123`, `sk_${hex(49)}`],
  ...[`st.${hex(24)}.${hex(32)}.${hex(33)}`, `CCIPAT_${mixed(22)}_${hex(41)}`],
  ...[`AKID${mixed(44)}`, `AQVN${mixed(44)}`, `pat${mixed(14)}.${hex(65)}`, `A${mixed(70)}`],
  `access_token$production$${hex(16)}$${hex(33)}`,
  ...[`my_auth=${letters}`, `"auth": "${letters}"`, 'monkey="password" value="abcdef"'],
  ...['Authorization: Bearer <your-token>', 'Authorization: Bearer {{ a }}'],
  ...['Authorization: Bearer $TOKEN', 'authorization: this.authorizationHeader'],
  ...['acurl -u bob:pw', 'curling -u bob:pw', 'redis://bob:pass@h', 'redis://bob:password@h'],
  ...['https://bob:pass@h', 'https://bob:password@h', 'https://h:8080/a@b', 'https://h:80?x@y'],
  ...['?sid==abcd', '?sid=value', '?code=a,b', '?sid=${a.b}&x=1'],
  ...['<inputs type="password" value="abcd">', '<input data_type="password" value="abcd">'],
  ...['<input type="password" data_value="abcd">', '<input type="passwords" value="abcd">'],
  ...[`'x-api-key', 'abcdefg'`, `oauth=('bob', 'abc')`, 'asshpass -p abc', 'mysql -p --version'],
  ...['mysqlx -pabc', `amnemonic: ${words}choice`, 'amachine h login bob password abc'],
  ...['ajdbc:oracle:thin:scott/tiger@h', `[redacted],${letters}${letters.slice(0, 14)}`],
  ...[`[redacted],${mixed(46)}`, `reidentified by 'abcd'`, `the password: ${letters}`],
  ...[`password: ${letters} now`, 'aecho abcd | sudo -S', 'echo abcd | sudo -Sx'],
  ...[`redefine('DB_PASSWORD', 'abcd')`, '"DB_PASSWORD", "OTHER_NAME_1"'],
  ...['"DB_PASSWORD", "other_name"', 'totp=ABCDEFGHIJKLMNOP1', 'atotp=ABCDEFGHIJKLMNOP'],
  'apsk=abcdefgh',
];
