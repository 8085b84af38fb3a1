#ifndef SYNC_CCURL_SHIM_H
#define SYNC_CCURL_SHIM_H
#include <curl/curl.h>

// libcurl is loaded on first use, so its variadic functions come in as an address found by name.
// One wrapper an argument type; no logic.

typedef CURLcode (*sync_curl_easy_setopt)(CURL *, CURLoption, ...);
typedef CURLcode (*sync_curl_easy_getinfo)(CURL *, CURLINFO, ...);
typedef CURLMcode (*sync_curl_multi_setopt)(CURLM *, CURLMoption, ...);

static inline CURLcode curl_setopt_long(void *setopt, CURL *easy, CURLoption option, long value) {
    return ((sync_curl_easy_setopt)setopt)(easy, option, value);
}
static inline CURLcode curl_setopt_off(void *setopt, CURL *easy, CURLoption option, curl_off_t value) {
    return ((sync_curl_easy_setopt)setopt)(easy, option, value);
}
static inline CURLcode curl_setopt_string(void *setopt, CURL *easy, CURLoption option, const char *value) {
    return ((sync_curl_easy_setopt)setopt)(easy, option, value);
}
static inline CURLcode curl_setopt_pointer(void *setopt, CURL *easy, CURLoption option, void *value) {
    return ((sync_curl_easy_setopt)setopt)(easy, option, value);
}
static inline CURLcode curl_setopt_slist(void *setopt, CURL *easy, CURLoption option, struct curl_slist *value) {
    return ((sync_curl_easy_setopt)setopt)(easy, option, value);
}
static inline CURLcode curl_setopt_write(void *setopt, CURL *easy, CURLoption option, curl_write_callback value) {
    return ((sync_curl_easy_setopt)setopt)(easy, option, value);
}
static inline CURLcode curl_setopt_read(void *setopt, CURL *easy, CURLoption option, curl_read_callback value) {
    return ((sync_curl_easy_setopt)setopt)(easy, option, value);
}
static inline CURLcode curl_setopt_seek(void *setopt, CURL *easy, CURLoption option, curl_seek_callback value) {
    return ((sync_curl_easy_setopt)setopt)(easy, option, value);
}
static inline CURLcode curl_getinfo_off(void *getinfo, CURL *easy, CURLINFO info, curl_off_t *value) {
    return ((sync_curl_easy_getinfo)getinfo)(easy, info, value);
}
static inline CURLcode curl_getinfo_pointer(void *getinfo, CURL *easy, CURLINFO info, void **value) {
    return ((sync_curl_easy_getinfo)getinfo)(easy, info, value);
}
static inline CURLMcode curl_multi_setopt_long(void *setopt, CURLM *multi, CURLMoption option, long value) {
    return ((sync_curl_multi_setopt)setopt)(multi, option, value);
}

#endif
