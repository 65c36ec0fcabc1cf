// Post the token behind # for a cookie. The fragment is never sent by the browser itself.
"use strict";
const token = location.hash.slice(1);
if (token) {
  history.replaceState(null, "", "/open");
  document.getElementById("opening").textContent = "Opening…";
  document.getElementById("open-form").hidden = true;
  document.getElementById("link").value = token;
  document.getElementById("open-form").submit();
}
